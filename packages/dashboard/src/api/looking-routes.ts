import type { AuditEntry, EventFilter, StoredRow } from 'sendoff/admin'
import { Refusal } from '../guard/refusal.ts'
import type {
  AuditAnswer,
  AuditPageAnswer,
  DestinationsAnswer,
  DoctorAnswer,
  EventAnswer,
  EventsAnswer,
  HistoryAnswer,
  KeyAnswer,
  KeysAnswer,
  MailsAnswer,
} from './answers.ts'
import { readEventQuery } from './event-query.ts'
import { headersOf, payloadOf, summaryOf } from './event-view.ts'
import { mailAggregate, mailOf, mailPage } from './mail-view.ts'
import { redactJson } from './redact-json.ts'
import type { ApiCall, Route } from './route.ts'
import { traceLink } from './trace-link.ts'

const keysPerDestination = 100

/**
 * How long a list or an event may be shown to others: pages that follow the stream read at the same moment.
 */
const shortlyMs = 250

/** The calls that only look. Every visitor may make them. */
export const lookingRoutes: readonly Route[] = [
  look('state', ({ outbox }) => outbox.state()),
  look('history', readHistory),
  look('events', readEvents),
  look('events/{eventId}', readEvent),
  look('failures', ({ outbox, admin }) => outbox.reads.read('failures', 2_000, () => admin.failures())),
  look('keys', readKeys),
  look('destinations', readDestinations),
  look('mail', readMails),
  look('mail/{eventId}/preview', previewMail),
  look('doctor', readDoctor),
  look('audit', readAudit),
  look('runs/{id}', ({ outbox, admin, params }) =>
    outbox.reads.read(`run ${params['id']}`, 500, async () =>
      outbox.runs.stateOf(await admin.audit.entry(params['id']!)),
    ),
  ),
]

function look(path: string, handle: Route['handle']): Route {
  return { method: 'GET', path: `outboxes/{outbox}/${path}`, role: 'viewer', handle }
}

async function readHistory({ outbox, admin, query }: ApiCall): Promise<HistoryAnswer> {
  const minutes = Number(query.get('minutes') ?? 60)
  const history = await outbox.reads.read(`history ${minutes}`, 5_000, () => admin.deliveries({ minutes }))
  return { minutes: history, depths: outbox.depths }
}

async function readEvents({ outbox, admin, query, redaction }: ApiCall): Promise<EventsAnswer> {
  const { filter, options } = readEventQuery(query)
  refuseHiddenSearch(filter, redaction !== undefined)
  const { events, cursor, isCut, lookedTo } = await outbox.reads.read(
    `events ${query.toString()}`,
    shortlyMs,
    () => admin.browse(filter, options),
  )
  return {
    events: events.map(summaryOf),
    cursor: cursor ?? null,
    isCut,
    lookedTo: lookedTo?.eventId ?? null,
  }
}

/** Refuses a search in texts: its matches would tell what is hidden. */
export function refuseHiddenSearch(filter: Pick<EventFilter, 'text'>, isRedacted: boolean): void {
  if (!isRedacted || filter.text === undefined) return
  throw new Refusal(
    403,
    'TEXT_IS_HIDDEN',
    'Payloads are redacted here, so only admins can search their texts.',
  )
}

async function readEvent(call: ApiCall): Promise<EventAnswer> {
  const { outbox, admin, params, redaction, traceUrl } = call
  const { eventId = '' } = params
  const destination = call.query.get('destination') ?? ''
  const [detail, all] = await outbox.reads.read(
    `event ${JSON.stringify([eventId, destination])}`,
    shortlyMs,
    () => Promise.all([admin.event(eventId, destination), admin.browse({ eventId }, { limit: 100 })]),
  )
  if (detail === undefined) throw noEvent(eventId, all.events)
  const headers = headersOf(detail.row, redaction)
  return {
    event: summaryOf(detail.row),
    payload: payloadOf(detail.row, redaction),
    headers,
    attempts: detail.attempts,
    audit: detail.audit.map((entry) => auditOf(entry, redaction)),
    neighbours: {
      before: detail.neighbours.before.map(summaryOf),
      after: detail.neighbours.after.map(summaryOf),
    },
    destinations: all.events.map(summaryOf).sort((a, b) => (a.destination < b.destination ? -1 : 1)),
    traceUrl: traceLink(headers, traceUrl),
    mail: mailOf(detail.row, redaction) ?? null,
  }
}

async function readKeys({ outbox, admin, query }: ApiCall): Promise<KeysAnswer> {
  const wanted = query.get('destination')
  const after = query.get('after')
  const name = `keys ${JSON.stringify([wanted, after])}`
  return outbox.reads.read(name, 1_000, async () => {
    const names =
      wanted === null
        ? (await admin.destinations()).destinations.map(({ destination }) => destination)
        : [wanted]
    const keys: KeyAnswer[] = []
    const more: KeysAnswer['more'][number][] = []
    for (const destination of names) {
      const found = await admin.keys.blocked({
        limit: keysPerDestination,
        destination,
        ...(after !== null && { after }),
      })
      if (found.length === keysPerDestination) more.push({ destination, after: found.at(-1)!.orderingKey })
      keys.push(
        ...found.map(({ head, ...key }) => ({ ...key, destination, head: head ? summaryOf(head) : null })),
      )
    }
    return { keys, more }
  })
}

async function readDestinations({ outbox, admin }: ApiCall): Promise<DestinationsAnswer> {
  const { routingVersion, destinations } = await outbox.reads.read('destinations', 1_000, () =>
    admin.destinations(),
  )
  return { routingVersion: routingVersion ?? null, destinations }
}

async function readMails({ outbox, admin, query, redaction }: ApiCall): Promise<MailsAnswer> {
  const { filter, options } = readEventQuery(query)
  refuseHiddenSearch(filter, redaction !== undefined)
  const { events, cursor } = await outbox.reads.read(`mail ${query.toString()}`, shortlyMs, () =>
    admin.browse({ ...filter, aggregateType: mailAggregate }, options),
  )
  return {
    mails: events.map((row) => ({ event: summaryOf(row), mail: mailOf(row, redaction) ?? null })),
    cursor: cursor ?? null,
  }
}

/** The frame of a mail: no scripts, nothing from elsewhere, and an origin of its own. */
const previewPolicy =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"

async function previewMail({ outbox, admin, params, query, redaction }: ApiCall): Promise<Response> {
  const { eventId = '' } = params
  const destination = query.get('destination') ?? ''
  const { events } = await outbox.reads.read(`preview ${JSON.stringify([eventId, destination])}`, 0, () =>
    admin.browse({ eventId, destination }, { limit: 1 }),
  )
  const page = events[0] && mailPage(events[0], redaction)
  if (page === undefined) throw new Refusal(404, 'NO_MAIL', 'There is no mail here that can be shown.')
  return new Response(page, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': previewPolicy,
      // Otherwise a browser looks up the hosts of all links before the visitor clicks one.
      'x-dns-prefetch-control': 'off',
    },
  })
}

async function readDoctor({ outbox, admin }: ApiCall): Promise<DoctorAnswer> {
  return { findings: await outbox.reads.read('doctor', 5_000, () => admin.doctor()) }
}

async function readAudit({ outbox, admin, query, redaction }: ApiCall): Promise<AuditPageAnswer> {
  const cursor = query.get('cursor')
  const limit = Number(query.get('limit') ?? 50)
  const page = await outbox.reads.read(`audit ${JSON.stringify([cursor, limit])}`, 500, () =>
    admin.audit.list({ limit, ...(cursor !== null && { cursor }) }),
  )
  return { entries: page.entries.map((entry) => auditOf(entry, redaction)), cursor: page.cursor ?? null }
}

/** Hides the text that an admin searched for, with payloads: the entry says how many payloads have it. */
const searchedText = [['filter', 'text']]

function auditOf(
  { plan, progress, detail, ...entry }: AuditEntry,
  redaction: ApiCall['redaction'],
): AuditAnswer {
  const shown = redaction === undefined || detail === null ? detail : redactJson(detail, searchedText)
  return { ...entry, detail: shown ?? null, isPlan: plan !== null }
}

function noEvent(eventId: string, others: readonly StoredRow[]): Refusal {
  const names = others.map(({ destination }) => `"${destination}"`).join(', ')
  const where = names === '' ? 'It may have been purged.' : `It has the destinations ${names}.`
  return new Refusal(
    404,
    'NO_EVENT',
    `There is no event ${eventId.slice(0, 100)} for this destination. ${where}`,
  )
}
