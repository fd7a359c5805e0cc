import { join, relative } from 'node:path'
import { PrismaProject } from '../../packages/sendoff/test/transactions/prisma-project.ts'
import type { SnippetModule } from './snippet-module.ts'

export interface PrismaClients {
  /** Returns the module with the paths of the clients in its imports. */
  importedBy(module: SnippetModule): SnippetModule
}

/** Generates the clients that the page of Prisma imports. A reader lets Prisma generate them. */
export async function prismaClients(): Promise<PrismaClients> {
  const [postgres, mysql] = await Promise.all([
    PrismaProject.generate('postgresql'),
    PrismaProject.generate('mysql'),
  ])
  const from = ({ clientFile }: PrismaProject) =>
    relative(join(import.meta.dirname, '.snippets/run'), clientFile)
  return {
    importedBy: ({ code, ...module }) => ({
      ...module,
      code: code
        ?.replaceAll('./generated/prisma/client.ts', from(postgres))
        .replaceAll('./generated/mysql/client.ts', from(mysql)),
    }),
  }
}
