import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** The page with the calls of the dashboard's API. */
export const httpApiPage = join(root, 'docs/http-api.md')

interface Operation {
  readonly summary: string
  readonly 'x-role': string
}

/** Returns the rows of the page's table, as `openapi.json` of the dashboard has them. */
export function httpApiRows(): readonly string[] {
  const description = JSON.parse(readFileSync(join(root, 'packages/dashboard/openapi.json'), 'utf8')) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  }
  return Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, { summary, ...operation }]) =>
        `| \`${method.toUpperCase()} ${path}\` | ${operation['x-role']} | ${summary} |`,
    ),
  )
}

// `node test/docs/http-api-page.ts` writes the table again. Then format the page.
if (process.argv[1] === import.meta.filename) {
  const page = readFileSync(httpApiPage, 'utf8')
  const [before = '', rest = ''] = page.split('\n## Calls\n')
  const [, ...after] = rest.split('\n## ')
  const table = ['| call | role | |', '| --- | --- | --- |', ...httpApiRows()].join('\n')
  writeFileSync(httpApiPage, [`${before}\n## Calls\n\n${table}\n`, ...after].join('\n## '))
}
