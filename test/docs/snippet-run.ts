import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { nodeArguments } from '../decorators/node-arguments.ts'
import { describeEnd, ProcessGroup, within } from '../services/processes/process-group.ts'
import { temporaryFolder } from '../services/machine/temporary-folder.ts'
import type { SnippetModule } from './snippet-module.ts'

const root = join(import.meta.dirname, '../..')

/**
 * Modules in files. Their folder is inside the project, so that imported packages are found, and is removed
 * when this process exits at the latest.
 */
export class SnippetRun {
  readonly #folder: string
  /** Files by page. */
  readonly #files: ReadonlyMap<string, string>

  constructor(modules: readonly SnippetModule[]) {
    const snippets = join(import.meta.dirname, '.snippets')
    mkdirSync(snippets, { recursive: true })
    this.#folder = mkdtempSync(join(snippets, 'run-'))
    process.on('exit', this.remove)

    this.#files = new Map(modules.map(({ page }) => [page, join(this.#folder, fileNameOf(page))]))
    for (const { page, code } of modules) writeFileSync(this.#files.get(page)!, `${code ?? ''}\nexport {}\n`)
  }

  readonly remove = (): void => {
    process.off('exit', this.remove)
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /**
   * Checks all modules against the built library, as strictly as the project. Returns errors as `page:line
   * problem`.
   */
  typeErrors(): readonly string[] {
    const pages = new Map([...this.#files].map(([page, file]) => [file, page]))
    const program = ts.createProgram([...pages.keys()], compilerOptions())
    return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText, code }) => {
      const text = ts.flattenDiagnosticMessageText(messageText, '\n')
      if (file === undefined) return `TS${code} ${text}`

      const { line } = file.getLineAndCharacterOfPosition(start ?? 0)
      return `${pages.get(file.fileName) ?? relative(root, file.fileName)}:${line + 1} TS${code} ${text}`
    })
  }

  /**
   * Runs the module of a page in a process and a folder of its own. Returns what went wrong, with the page's
   * name in place of the module's; undefined if it ended on its own and well.
   */
  async failureOf(page: string, timeoutMs = 120_000): Promise<string | undefined> {
    const file = this.#files.get(page)!
    const folder = temporaryFolder('snippets')
    const args = [...nodeArguments(readFileSync(file, 'utf8')), file]
    const group = new ProcessGroup(process.execPath, args, {
      cwd: folder.path,
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    })
    const end = await within(timeoutMs, group.ended)
    await group.stop()
    folder.remove()
    if (end?.code === 0) return undefined

    const what = end === undefined ? `did not end within ${timeoutMs} ms` : describeEnd(end)
    return `${page} ${what}. Its output:\n${group.output.replaceAll(file, page)}`
  }
}

/** Returns `docs-events.ts` for `docs/events.md`. */
function fileNameOf(page: string): string {
  return `${page.replace(/\.md$/, '').replaceAll('/', '-').toLowerCase()}.ts`
}

function compilerOptions(): ts.CompilerOptions {
  const file = join(root, 'tsconfig.json')
  const { config } = ts.readConfigFile(file, (path) => ts.sys.readFile(path)) as { config: object }
  const parsed = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root, {}, file)
  return parsed.options
}
