import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type MailMessage,
  MailOutbox,
  type MailOutboxOptions,
  MailOutboxWorker,
  type MailOutboxWorkerOptions,
  type MailTransport,
} from '../../src/mail/index.ts'
import type { StoreWith } from '../../src/store/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { type FakeClock, fakeClock } from '../../src/testing/index.ts'

export const welcome: MailMessage = {
  from: 'Sendoff <post@sendoff.example>',
  to: 'ada@example.com',
  subject: 'Welcome',
  text: 'Hello Ada',
}

export type AnyMailOutbox = MailOutbox<any, any>

/** Opens a mail outbox that is closed when its test ends. */
export async function openMail(
  test: TestContext,
  store: StoreWith<any, 'people'>,
  options: Partial<MailOutboxOptions<any, any>> = {},
): Promise<AnyMailOutbox> {
  const mail = new MailOutbox<any, any>({ logger: false, ...options, store })
  await mail.initSchema()
  test.after(() => mail.close())
  return mail
}

export interface WorkedMail {
  readonly mail: AnyMailOutbox
  readonly worker: MailOutboxWorker<any, any>
  readonly clock: FakeClock
}

/** Starts a mail outbox in memory with a clock of its own, and a worker that sends through one transport. */
export async function startMail(
  test: TestContext,
  transport: MailTransport,
  options: Partial<MailOutboxOptions<any, any>> & Partial<MailOutboxWorkerOptions<any, any>> = {},
): Promise<WorkedMail> {
  const clock = fakeClock()
  const { keyRing, render, resolveAttachment, messageIdDomain, maxAttachmentBytes, ...workerOptions } =
    options
  const mail = await openMail(test, memoryStore({ now: clock.now }), {
    clock,
    ...given({ keyRing, render, resolveAttachment, messageIdDomain, maxAttachmentBytes }),
  })
  const worker = await startWorker(test, mail, transport, { clock, ...workerOptions })
  return { mail, worker, clock }
}

export async function startWorker(
  test: TestContext,
  mail: AnyMailOutbox,
  transport: MailTransport,
  options: Partial<MailOutboxWorkerOptions<any, any>> = {},
): Promise<MailOutboxWorker<any, any>> {
  const worker = new MailOutboxWorker<any, any>({
    transports: { default: transport },
    logger: false,
    shutdownTimeoutMs: 1_000,
    ...options,
    outbox: mail,
  })
  await worker.start()
  test.after(() => worker.close())
  return worker
}

/** Enqueues a mail in a transaction of its own. */
export function enqueue(
  mail: AnyMailOutbox,
  message: Partial<MailMessage> = {},
  options = {},
): Promise<string> {
  return mail.transaction(() => mail.enqueue({ ...welcome, ...message }, options))
}

/**
 * Asks again and again until the answer is a good one: for events without a signal, such as the end of a
 * lease.
 */
export async function until<Answer>(
  ask: () => Promise<Answer>,
  isGood: (answer: Answer) => boolean,
): Promise<Answer> {
  for (;;) {
    const answer = await ask()
    if (isGood(answer)) return answer
    await delay(10)
  }
}

function given<Options extends object>(
  options: Options,
): { [Name in keyof Options]: NonNullable<Options[Name]> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never
}
