import type { Plan, PlanResult, PauseTarget, RowAction } from 'sendoff/admin'
import { Refusal } from '../guard/refusal.ts'
import { isAllowed, type Role } from '../guard/visitor.ts'
import { isShortText, readFilter, shortText } from './event-query.ts'
import { parseExactly } from './exact-json.ts'
import { refuseHiddenSearch } from './looking-routes.ts'
import type { ApiCall, Route } from './route.ts'

const actions: readonly string[] = ['replay', 'cancel', 'skip', 'purge']

/** The calls that act. Each leaves an entry in the audit, except that a plan changes nothing yet. */
export const actingRoutes: readonly Route[] = [
  act('plans', 'operator', makePlan),
  act('runs', 'operator', startRun),
  act('runs/{id}/stop', 'operator', stopRun),
  act('runs/{id}/resume', 'operator', resumeRun),
  act('events/{eventId}/replay', 'operator', (call) => actOnEvent(call, 'replay')),
  act('events/{eventId}/cancel', 'operator', (call) => actOnEvent(call, 'cancel')),
  act('events/{eventId}/purge', 'admin', (call) => actOnEvent(call, 'purge')),
  act('events/{eventId}/edit', 'admin', editEvent),
  act('keys/retry', 'operator', async ({ admin, body }) => ({
    isChanged: await admin.keys.retry(textIn(body, 'orderingKey'), optionalTextIn(body, 'destination')),
  })),
  act('keys/skip', 'operator', async ({ admin, body }) => ({
    isChanged: await admin.keys.skip(
      textIn(body, 'orderingKey'),
      optionalTextIn(body, 'reason') || undefined,
      optionalTextIn(body, 'destination'),
    ),
  })),
  act('keys/park', 'operator', async ({ admin, body }) => {
    await admin.keys.park(textIn(body, 'orderingKey'), optionalTextIn(body, 'destination'))
    return { isChanged: true }
  }),
  act('keys/unpark', 'operator', async ({ admin, body }) => {
    await admin.keys.unpark(textIn(body, 'orderingKey'), optionalTextIn(body, 'destination'))
    return { isChanged: true }
  }),
  act('pause', 'operator', async ({ admin, body }) => {
    await admin.pause(targetIn(body))
    return { isChanged: true }
  }),
  act('resume', 'operator', async ({ admin, body }) => {
    await admin.resume(targetIn(body))
    return { isChanged: true }
  }),
  act('audit/purge', 'admin', async ({ admin, body }) => ({
    deleted: await admin.audit.purge({ olderThanMs: numberIn(body, 'olderThanMs') ?? NaN }),
  })),
]

function act(path: string, role: Role, work: Route['handle']): Route {
  const handle: Route['handle'] = (call) => call.outbox.reads.act(() => work(call))
  return { method: 'POST', path: `outboxes/{outbox}/${path}`, role, handle }
}

async function makePlan({ admin, visitor, body, redaction }: ApiCall): Promise<Plan> {
  const action = textIn(body, 'action') as RowAction
  refusePurge(visitor.role, action)
  const filter = readFilter(objectIn(body, 'filter'))
  refuseHiddenSearch(filter, redaction !== undefined)
  const reason = optionalTextIn(body, 'reason')
  return admin.plan(action, filter, {
    ...(reason && { reason }),
    ...(body['all'] === true && { all: true }),
  })
}

async function startRun({
  admin,
  visitor,
  body,
  outbox,
  redaction,
}: ApiCall): Promise<{ readonly id: string }> {
  const plan = objectIn(body, 'plan') as unknown as Plan
  if (!actions.includes(plan.action) || typeof plan.filter !== 'object' || plan.filter === null) {
    throw new Refusal(400, 'INVALID_BODY', 'This is no plan. POST to "plans" makes one.')
  }
  refusePurge(visitor.role, plan.action)
  refuseHiddenSearch(plan.filter, redaction !== undefined)
  return { id: await outbox.runs.start(admin, plan, paceIn(body)) }
}

async function stopRun({ admin, params, outbox }: ApiCall): Promise<{ readonly id: string }> {
  const { id = '' } = params
  await outbox.runs.stop(admin, id)
  return { id }
}

async function resumeRun({
  admin,
  visitor,
  params,
  body,
  outbox,
}: ApiCall): Promise<{ readonly id: string }> {
  const { id = '' } = params
  const entry = await admin.audit.entry(id)
  refusePurge(visitor.role, entry.action)
  return { id: await outbox.runs.resume(admin, id, paceIn(body)) }
}

async function actOnEvent({ admin, params, body }: ApiCall, action: RowAction): Promise<PlanResult> {
  const destination = optionalTextIn(body, 'destination') ?? ''
  const reason = optionalTextIn(body, 'reason')
  const plan = await admin.plan(
    action,
    { eventId: params['eventId'], destination },
    { ...(reason && { reason }) },
  )
  if (plan.count === 0) {
    throw new Refusal(
      409,
      'NOTHING_TO_DO',
      `No event with this id and destination can be changed by "${action}" now.`,
    )
  }
  return admin.run(plan)
}

async function editEvent({ admin, params, body }: ApiCall): Promise<unknown> {
  const destination = optionalTextIn(body, 'destination')
  let payload: unknown
  try {
    payload = parseExactly(payloadIn(body))
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw new Refusal(400, 'INVALID_PAYLOAD', `The payload is not JSON: ${(error as Error).message}`)
  }
  return admin.replayEdited(params['eventId']!, payload, { ...(destination && { destination }) })
}

function payloadIn({ payload }: ApiCall['body']): string {
  if (typeof payload === 'string') return payload
  throw new Refusal(400, 'INVALID_BODY', 'The body needs "payload", a JSON text.')
}

function refusePurge(role: Role, action: string): void {
  if (action !== 'purge' || isAllowed(role, 'admin')) return
  throw new Refusal(403, 'ROLE_TOO_LOW', 'Only admins may purge events.')
}

function paceIn(body: ApiCall['body']): { ratePerSecond?: number } {
  const ratePerSecond = numberIn(body, 'ratePerSecond')
  return { ...(ratePerSecond !== undefined && { ratePerSecond }) }
}

function targetIn(body: ApiCall['body']): PauseTarget {
  const eventType = optionalTextIn(body, 'eventType')
  const destination = optionalTextIn(body, 'destination')
  return {
    ...(eventType !== undefined && { eventType }),
    ...(destination !== undefined && { destination }),
  } as PauseTarget
}

function textIn(body: ApiCall['body'], name: string): string {
  const value = optionalTextIn(body, name)
  if (value !== undefined && value !== '') return value
  throw new Refusal(400, 'INVALID_BODY', `The body needs "${name}", a text.`)
}

/** Reads a name or a reason. What is paused or parked stands in every state that the pages get. */
function optionalTextIn(body: ApiCall['body'], name: string): string | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (isShortText(value)) return value
  throw new Refusal(400, 'INVALID_BODY', `"${name}" has to be ${shortText}.`)
}

function numberIn(body: ApiCall['body'], name: string): number | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number') return value
  throw new Refusal(400, 'INVALID_BODY', `"${name}" has to be a number.`)
}

function objectIn(body: ApiCall['body'], name: string): Readonly<Record<string, unknown>> {
  const value = body[name]
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new Refusal(400, 'INVALID_BODY', `The body needs "${name}", an object.`)
}
