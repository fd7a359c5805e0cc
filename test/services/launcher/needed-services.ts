import { basename } from 'node:path'

const suffix = '.service.test.ts'

/** Returns whether the name of a test file says that it needs services. */
export function needsServices(file: string): boolean {
  return file.endsWith(suffix)
}

/**
 * Returns the services in the name of a test file: everything between its subject and `.service.test.ts`. So
 * `relay.postgres.kafka.service.test.ts` needs two.
 */
export function neededServices(file: string): readonly string[] {
  return needsServices(file) ? basename(file).slice(0, -suffix.length).split('.').slice(1) : []
}

/** Returns what is wrong with the services in the name of a test file, given those that exist. */
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
