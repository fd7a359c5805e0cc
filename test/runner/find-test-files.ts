import { globSync } from 'node:fs'
import { sep } from 'node:path'
import { needsServices } from '../services/launcher/needed-services.ts'

export interface TestSelection {
  /** Selects files whose path contains one of these words; all files if there are none. */
  readonly words: readonly string[]
  /** Selects only files that need neither services nor long-running processes. */
  readonly unitOnly: boolean
}

const patterns = ['packages/*/test/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts']
// These start many processes, move much data or fetch other versions of Node.
const longFolders = ['test/faults/', 'test/package/', 'test/scale/']
// The first installs every package, for which the others in its folder wait. The rest take long, and would
// run alone at the end.
const begunFirst = [
  'test/package/bundle.test.ts',
  'test/services/servers/postgres/',
  'test/simulation/simulation.test.ts',
]
const skippedFolders = new Set(['node_modules', 'dist'])

/** Returns the test files of the project in `root`, as sorted paths relative to it, with forward slashes. */
export function findTestFiles(root: string, { words, unitOnly }: TestSelection): readonly string[] {
  // `exclude` gets folder names on the way down, so that these folders are not even entered.
  const exclude = (path: string): boolean => path.split(sep).some((part) => skippedFolders.has(part))

  return globSync(patterns, { cwd: root, exclude })
    .map((file) => file.replaceAll(sep, '/'))
    .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
    .filter((file) => !unitOnly || isUnitTest(file))
    .sort()
}

/** Orders the files that a run should not begin late before all others. */
export function longFirst(one: string, other: string): number {
  const rank = (file: string): number => (begunFirst.some((first) => file.startsWith(first)) ? 0 : 1)
  return rank(one) - rank(other)
}

function isUnitTest(file: string): boolean {
  return !longFolders.some((folder) => file.startsWith(folder)) && !needsServices(file)
}
