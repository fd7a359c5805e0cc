import { globSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import ts from 'typescript'
import { projectRoot, readPackages } from '../workspace.ts'
import { wordExceptions } from './exceptions.ts'
import { findBareExports, frontDoors } from './export-rule.ts'
import type { Finding } from './finding.ts'
import { readPage } from './read-page.ts'
import { readSource } from './read-source.ts'
import { findLongSentences } from './sentence-rule.ts'
import { findWideComments } from './width-rule.ts'
import { findHidingWords, mayHideActor, withoutExceptions } from './word-rule.ts'

const sources = [
  'packages/*/src/**/*.ts',
  '{packages/*/test,test,bench,examples,site,release}/**/*.ts',
  'packages/*/page/**/*.{ts,tsx}',
]
// The changelog quotes what was.
const pages = [
  '{README,ARCHITECTURE,CONTRIBUTING,SECURITY}.md',
  'docs/**/*.md',
  'packages/*/*.md',
  '{bench,test,examples}/**/*.md',
  'site/*.md',
]
const skippedFolders = new Set(['node_modules', 'dist', '.snippets', '.pages'])

/** Everything in the project that breaks a rule of words. */
export function projectFindings(): readonly Finding[] {
  const texts = filesOf(sources).map((file) => [file, readText(file)] as const)
  // Parsing costs most, and of tests only the words matter.
  const worthParsing = texts.filter(([file, text]) => isLibrary(file) || mayHideActor(text))
  const parsed = new Map(worthParsing.map(([file, text]) => [file, parse(file, text)]))
  const words = [...parsed].flatMap(([file, source]) => sourceFindings(file, source))
  const ofPages = filesOf(pages).flatMap((file) => pageFindings(file, readText(file)))
  return [...withoutExceptions([...words, ...ofPages], wordExceptions), ...exportFindings(parsed)]
}

/** What breaks a rule in a source file. Of tests only the comments are read, of the library its texts as well. */
export function sourceFindings(file: string, source: ts.SourceFile): readonly Finding[] {
  const words = readSource(source)
  if (!isLibrary(file)) return findHidingWords(file, words.comments)
  return [
    ...findHidingWords(file, [...words.comments, ...words.strings]),
    ...findWideComments(file, source.text, words, printWidth()),
  ]
}

/** What breaks a rule in a page. */
export function pageFindings(file: string, markdown: string): readonly Finding[] {
  const blocks = readPage(markdown)
  return [...findHidingWords(file, blocks), ...findLongSentences(file, blocks)]
}

function exportFindings(parsed: ReadonlyMap<string, ts.SourceFile>): readonly Finding[] {
  const doors = readPackages().flatMap(({ folder }) => frontDoors(join(projectRoot, folder)))
  // Nothing is checked here, so the one library is enough that has `Omit` and `Partial`.
  const options = {
    module: ts.ModuleKind.NodeNext,
    lib: ['lib.es5.d.ts'],
    types: [],
    allowImportingTsExtensions: true,
  }
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile.bind(host)
  host.getSourceFile = (fileName, ...rest) =>
    parsed.get(fileName.slice(projectRoot.length + 1)) ?? read(fileName, ...rest)
  return findBareExports(projectRoot, doors, ts.createProgram(doors, options, host))
}

function printWidth(): number {
  return (JSON.parse(readText('.prettierrc.json')) as { readonly printWidth: number }).printWidth
}

function parse(file: string, text: string): ts.SourceFile {
  const target = { languageVersion: ts.ScriptTarget.Latest, impliedNodeFormat: ts.ModuleKind.ESNext } as const
  return ts.createSourceFile(join(projectRoot, file), text, target, isLibrary(file))
}

function isLibrary(file: string): boolean {
  return /^packages\/[^/]+\/src\//.test(file)
}

function filesOf(patterns: readonly string[]): readonly string[] {
  const exclude = (path: string): boolean => path.split(sep).some((part) => skippedFolders.has(part))
  return globSync(patterns, { cwd: projectRoot, exclude })
    .map((file) => file.replaceAll(sep, '/'))
    .sort()
}

function readText(file: string): string {
  return readFileSync(join(projectRoot, file), 'utf8')
}
