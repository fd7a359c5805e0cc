import { findTestFiles } from '../runner/find-test-files.ts'
import { neededServices } from '../services/launcher/needed-services.ts'

/** Test files of MariaDB that run on MySQL together. A file belongs to a part by its folder and its services. */
export interface ColumnPart {
  readonly folders: readonly string[]
  /** The services besides MariaDB, all of which the part has. A file needs one or none of them. */
  readonly others: readonly string[]
}

/** The parts, by the name of their test file in this folder. */
export const columnParts = {
  stores: { folders: ['packages/sendoff/test/stores/'], others: [] },
  orms: { folders: ['packages/sendoff/test/transactions/'], others: [] },
  rest: {
    folders: [
      'packages/sendoff/test/admin/',
      'packages/sendoff/test/inbox/',
      'packages/sendoff/test/mail/',
      'packages/cli/test/',
    ],
    others: [],
  },
  several: { folders: ['packages/'], others: ['postgres', 'redis'] },
  faults: { folders: ['test/faults/', 'test/bench/'], others: [] },
} satisfies Readonly<Record<string, ColumnPart>>

/** Test files of MariaDB that do not run on MySQL, and why. */
export const left: Readonly<Record<string, string>> = {
  'packages/sendoff/test/stores/mysql/mysql2-store.mariadb.service.test.ts':
    'mysql2-store.mysql is for MySQL',
  'packages/sendoff/test/stores/mysql/claims-by-keys.mariadb.service.test.ts':
    'claims-by-keys.mysql is for MySQL',
  'packages/sendoff/test/stores/mysql/growing-schema.mariadb.service.test.ts':
    'growing-schema.mysql is for MySQL',
  'test/services/servers/mariadb/mariadb.mariadb.service.test.ts': 'it tests the service itself',
  'packages/cli/test/other-clients.postgres.mariadb.redis.kafka.rabbitmq.service.test.ts':
    'it needs two brokers, and the part "stores" has this client',
  'examples/recipes/web/runtimes.postgres.mariadb.redis.service.test.ts':
    'it is about Bun and Deno, and takes minutes',
}

/** The most telling ones, which run at every scale: many processes at once, and the transactions of an ORM. */
export const always: readonly string[] = [
  'packages/sendoff/test/stores/mysql/sharing.mariadb.service.test.ts',
  'packages/sendoff/test/transactions/prisma.mariadb.service.test.ts',
]

/** Returns every test file that needs MariaDB. */
export function filesOfMariadb(root: string): readonly string[] {
  return findTestFiles(root, { words: ['.mariadb.'], unitOnly: false })
}

/** Whether a test file of MariaDB belongs to a part. */
export function belongsTo({ folders, others }: ColumnPart, file: string): boolean {
  const besides = neededServices(file).filter((name) => name !== 'mariadb')
  return (
    left[file] === undefined &&
    folders.some((folder) => file.startsWith(folder)) &&
    besides.every((name) => others.includes(name)) &&
    besides.length > 0 === others.length > 0
  )
}
