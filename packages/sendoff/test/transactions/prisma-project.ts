import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import ts from 'typescript'

const root = resolve(import.meta.dirname, '../../../..')

const schema = (provider: Provider) => `
  generator client {
    provider            = "prisma-client"
    output              = "./generated"
    importFileExtension = "ts"
  }
  datasource db {
    provider = "${provider}"
  }
  model Order {
    id    String @id
    total Int    @default(0)
    @@map("orders")
  }
`

export type Provider = 'postgresql' | 'mysql'

/** A folder with a client of Prisma in it, removed when this process exits at the latest. */
export class PrismaProject {
  readonly folder = mkdtempSync(join(tmpdir(), 'sendoff-prisma-'))

  private constructor(provider: Provider) {
    process.on('exit', this.remove)
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'))
    writeFileSync(join(this.folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(this.folder, 'schema.prisma'), schema(provider))
  }

  static async generate(provider: Provider): Promise<PrismaProject> {
    const project = new PrismaProject(provider)
    const cli = join(root, 'node_modules/prisma/build/index.js')
    await promisify(execFile)(process.execPath, [cli, 'generate', '--schema', 'schema.prisma'], {
      cwd: project.folder,
      // Generating needs no engine, but would download a missing one, and send telemetry.
      env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' },
    })
    return project
  }

  readonly remove = (): void => {
    process.off('exit', this.remove)
    rmSync(this.folder, { recursive: true, force: true })
  }

  get clientFile(): string {
    return join(this.folder, 'generated/client.ts')
  }

  async client(): Promise<{ readonly PrismaClient: new (options: object) => any }> {
    return import(pathToFileURL(this.clientFile).href)
  }

  /** Checks a module beside the client, as strictly as the project. */
  typeErrors(code: string): readonly string[] {
    const file = join(this.folder, 'checked.ts')
    writeFileSync(file, code)
    const program = ts.createProgram([file], compilerOptions())
    return ts
      .getPreEmitDiagnostics(program, program.getSourceFile(file))
      .map(({ start, messageText }) => `${start}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
  }
}

function compilerOptions(): ts.CompilerOptions {
  const file = join(root, 'tsconfig.json')
  const { config } = ts.readConfigFile(file, (path) => ts.sys.readFile(path)) as { config: object }
  const parsed = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root, {}, file)
  // The sources are not beside the module here, but named by their whole path.
  return { ...parsed.options, rewriteRelativeImportExtensions: false, allowImportingTsExtensions: true }
}
