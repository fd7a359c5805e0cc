import type { Service } from './service.ts'

/** Every service that a test file can ask for by name. */
export const services: readonly Service[] = []
