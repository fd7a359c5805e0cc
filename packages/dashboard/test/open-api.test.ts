import { deepEqual, equal } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { eventQueryNames } from '../src/api/event-query.ts'
import { apiRoutes } from '../src/dashboard.ts'
import { DashboardClient } from './dashboard-client.ts'
import { filledOutbox } from './filled-outbox.ts'

interface Operation {
  readonly 'x-role': string
  readonly parameters: readonly { readonly name?: string; readonly in?: string }[]
  readonly requestBody?: object
}

const description = JSON.parse(readFileSync(join(import.meta.dirname, '../openapi.json'), 'utf8')) as {
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

describe('the description of the API', () => {
  it('has every call, with its role, and no other', () => {
    const described = operations.map(
      ({ path, method, operation }) => `${method.toUpperCase()} ${path} ${operation['x-role']}`,
    )
    const real = apiRoutes.map(({ path, method, role }) => `${method} /${path} ${role}`)
    deepEqual(described.sort(), real.sort())
  })

  it('names everything in each path, and everything that a list of events can be asked for', () => {
    for (const { path, operation } of operations) {
      const inPath = operation.parameters.filter((each) => each.in === 'path').map(({ name }) => `{${name}}`)
      deepEqual(inPath, path.match(/\{\w+\}/g) ?? [], path)
    }
    const { parameters } = description.paths['/outboxes/{outbox}/events']!['get']!
    const names = parameters.filter((each) => each.in === 'query').map(({ name }) => name)
    deepEqual(names.sort(), [...eventQueryNames].sort())
  })

  it('leads to nothing but itself, and comes with the package and from the API', async () => {
    const text = JSON.stringify(description)
    for (const [, name] of text.matchAll(/"\$ref":"#\/components\/([^"]+)"/g)) {
      const [kind, id] = name!.split('/')
      const { components } = description as unknown as { components: Record<string, Record<string, unknown>> }
      equal(components[kind!]?.[id!] !== undefined, true, name)
    }
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as {
      version: string
    }
    equal(description.info.version, version)
    const { admin } = await filledOutbox()
    const client = new DashboardClient({ admins: { orders: admin } })
    deepEqual(await client.get('openapi.json'), description)
  })

  it('is true about each call that looks: it answers', async () => {
    const { admin } = await filledOutbox({ dead: 1 })
    const client = new DashboardClient({ admins: { orders: admin } })
    const { events } = await admin.browse()
    await client.act(`outboxes/orders/events/${events[0]!.eventId}/replay`, {})
    const [entry] = (await admin.audit.list()).entries
    const looking = apiRoutes.filter(({ method, path }) => method === 'GET' && !/stream|preview/.test(path))
    for (const { path } of looking) {
      const id = path.includes('runs') ? entry!.id : events[0]!.eventId
      const actual = path.replace('{outbox}', 'orders').replace(/\{(?:eventId|id)\}/, id)
      equal(typeof (await client.get<object>(actual)), 'object', path)
    }
  })
})
