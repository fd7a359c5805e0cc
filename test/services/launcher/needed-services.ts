import { basename } from 'node:path'

const suffix = '.service.test.ts'

/** Whether a test file says by its name that it needs services. */
export function needsServices(file: string): boolean {
  return file.endsWith(suffix)
}

/**
 * The names of the services a test file asks for by its own name: everything between its subject
 * and `.service.test.ts`. So `relay.postgres.kafka.service.test.ts` needs two.
 */
export function neededServices(file: string): readonly string[] {
  return needsServices(file) ? basename(file).slice(0, -suffix.length).split('.').slice(1) : []
}

/** What is wrong with the services a test file asks for, given those that exist. */
export function namingMistake(file: string, known: readonly string[]): string | undefined {
  const names = neededServices(file)
  if (needsServices(file) && names.length === 0) {
    return `It names no service. Call it <subject>.<service>${suffix}.`
  }
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length === 0) return undefined

  const listed = known.join(', ') || 'none'
  return `It needs ${unknown.join(' and ')}, not listed in test/services/services.ts. Listed: ${listed}.`
}
