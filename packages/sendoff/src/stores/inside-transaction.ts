import { AsyncLocalStorage } from 'node:async_hooks'
import { OutboxError } from '../errors.ts'
import type { Mutex } from './mutex.ts'

interface OpenTransaction {
  readonly mutex: Mutex
  readonly around: OpenTransaction | undefined
  isOpen: boolean
}

const current = new AsyncLocalStorage<OpenTransaction>()

/** Runs the code of a transaction that holds the mutex, and remembers so for whatever it calls. */
export async function insideTransaction<Result>(mutex: Mutex, work: () => Promise<Result>): Promise<Result> {
  const transaction: OpenTransaction = { mutex, around: current.getStore(), isOpen: true }
  try {
    return await current.run(transaction, work)
  } finally {
    transaction.isOpen = false
  }
}

/** Throws where waiting for the mutex would be waiting for the very transaction that waits. */
export function refuseInsideTransaction(mutex: Mutex): void {
  for (let open = current.getStore(); open !== undefined; open = open.around) {
    if (open.mutex !== mutex || !open.isOpen) continue
    throw new OutboxError(
      'OUTBOX_INSIDE_TRANSACTION',
      'This call would wait for the transaction that it is made in, for ever. ' +
        'Make it before or after the transaction; inside, use the tx that the transaction hands out.',
    )
  }
}
