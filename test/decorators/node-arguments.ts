import { join } from 'node:path'

/** Returns the arguments of Node that let it run this code: none, unless the code has decorators. */
export function nodeArguments(code: string): readonly string[] {
  return hasDecorators(code) ? ['--import', join(import.meta.dirname, 'compile-decorators.ts')] : []
}

/** Whether a line of the code begins with a decorator. */
export function hasDecorators(code: string): boolean {
  return /^\s*@[A-Z]\w*\(/m.test(code)
}
