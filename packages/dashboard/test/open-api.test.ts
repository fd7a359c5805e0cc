import { deepEqual, equal } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { defineEvent, Outbox, silentLogger } from 'sendoff'
import type { Plan } from 'sendoff/admin'
import { eventQueryNames } from '../src/api/event-query.ts'
import { apiRoutes } from '../src/dashboard.ts'
import { DashboardClient } from './dashboard-client.ts'
import { filledOutbox } from './filled-outbox.ts'
import { differencesOf, type Schema } from './json-schema.ts'

interface Operation {
  readonly 'x-role': string
  readonly parameters: readonly { readonly name?: string; readonly in?: string }[]
  readonly requestBody?: object
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }>
  >
}

const description = JSON.parse(readFileSync(join(import.meta.dirname, '../openapi.json'), 'utf8')) as {
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
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

  it('is true about what each call returns, and leaves nothing of it out', async () => {
    const seen = new Set<string>()
    const judged = async <Answer>(
      method: string,
      path: string,
      call: () => Promise<Answer>,
    ): Promise<Answer> => {
      const answer = await call()
      const described =
        description.paths[path]![method]!.responses['200']!.content['application/json']!.schema
      deepEqual(differencesOf(described, answer, description.components.schemas), [], `${method} ${path}`)
      seen.add(`${method.toUpperCase()} ${path}`)
      return answer
    }
    const { admin, client } = await describedOutbox()
    const get = (path: string, values: Values = {}): Promise<unknown> =>
      judged('get', path, () => client.get<object>(actualPath(path, values)))
    const post = <Answer>(path: string, body: object, values: Values = {}): Promise<Answer> =>
      judged('post', path, () => client.act<Answer>(actualPath(path, values), body))

    const o = '/outboxes/{outbox}'
    const dead = (await admin.browse({ status: 'DEAD', eventType: 'OrderPlaced' })).events
    const [waiting] = (await admin.browse({ eventType: 'OrderPaid' })).events
    for (const path of lookingPaths) await get(path, { eventId: dead[0]!.eventId })
    const plan = await post<Plan>(`${o}/plans`, { action: 'replay', filter: { eventType: 'OrderPlaced' } })
    const { id } = await post<{ id: string }>(`${o}/runs`, { plan, ratePerSecond: 1 })
    await get(`${o}/runs/{id}`, { id })
    await post(`${o}/runs/{id}/stop`, {}, { id })
    await post(`${o}/runs/{id}/resume`, { ratePerSecond: 10_000 }, { id })
    while ((await admin.audit.entry(id)).state === 'running') await nextTurn()
    const target = { eventId: waiting!.eventId }
    await post(`${o}/events/{eventId}/cancel`, { reason: 'No more.' }, target)
    await post(`${o}/events/{eventId}/edit`, { payload: '{"total":2}' }, target)
    await post(`${o}/events/{eventId}/purge`, {}, target)
    const [cancelled] = (await admin.browse({ eventType: 'OrderPlaced', status: 'NEW' })).events
    await client.act(`outboxes/orders/events/${cancelled!.eventId}/cancel`, {})
    await post(`${o}/events/{eventId}/replay`, {}, { eventId: cancelled!.eventId })
    for (const action of ['retry', 'skip', 'park', 'unpark']) {
      await post(`${o}/keys/${action}`, { orderingKey: 'customer-17' })
    }
    for (const action of ['pause', 'resume']) await post(`${o}/${action}`, { eventType: 'OrderPaid' })
    for (const path of lookingPaths) await get(path, { eventId: cancelled!.eventId })
    await post(`${o}/audit/purge`, { olderThanMs: 0 })

    const all = apiRoutes.map(({ method, path }) => `${method} /${path}`)
    deepEqual(
      all.filter((call) => !seen.has(call)).sort(),
      [`GET ${o}/mail/{eventId}/preview`, `GET ${o}/stream`, 'GET /openapi.json'].sort(),
    )
  })
})

type Values = Readonly<Record<string, string>>

const lookingPaths = apiRoutes
  .filter(({ method, path }) => method === 'GET' && !/stream|preview|runs|openapi/.test(path))
  .map(({ path }) => `/${path}`)

function actualPath(path: string, values: Values): string {
  return path.slice(1).replaceAll(/\{(\w+)\}/g, (_, name: string) => ({ outbox: 'orders', ...values })[name]!)
}

/** An outbox with something of each kind to look at: dead, pending, blocked and parked, a mail, and a process. */
async function describedOutbox() {
  const { admin, store } = await filledOutbox({ dead: 2 })
  const worker = Outbox.partitioned({ store, maxAttempts: 1, onKeyFailure: 'block', logger: silentLogger })
  worker.on('PaymentTaken', () => Promise.reject(new RangeError('amount -5 is below zero')))
  worker.on('Bytes', () => {})
  await worker.start()
  await worker.transaction(async () => {
    await worker.write('PaymentTaken', { amount: -5 }, { orderingKey: 'customer-17' } as never)
    await worker.write('Bytes', new Uint8Array([0, 255]) as never, { headers: { tenant: 'north' } } as never)
    // As the row of a mail outbox has it.
    const mail = { from: 'shop@example.com', to: ['ada@example.com'], subject: 'Hello', html: '<p>Hi</p>' }
    await worker.write(defineEvent('order', { aggregateType: 'Mail' }), mail)
  })
  while ((await admin.overview()).counts.BLOCKED.count === 0) await nextTurn()
  await admin.as('bob').keys.park('customer-18')
  await admin.as('bob').pause({ eventType: 'OrderSent' })
  await worker.close()
  const writer = await Outbox.writerOnly({ store, logger: silentLogger }).start()
  await writer.transaction(() => writer.write('OrderPaid', { total: 1 }))
  await writer.close()
  await store.nodes.join({ id: 'shop-1', mode: 'partitioned', ttlMs: 600_000 })
  return { admin, client: new DashboardClient({ admins: { orders: admin } }) }
}
