import { AsyncLocalStorage } from 'node:async_hooks'
import { OutboxError } from '../errors.ts'
import type { Mutex } from './mutex.ts'

interface Inside {
  readonly mutex: Mutex
  readonly transaction: { readonly isOpen: boolean }
  readonly around: Inside | undefined
}

const current = new AsyncLocalStorage<Inside>()

/** Runs the code of a transaction that holds the mutex. All code that it calls is marked as inside. */
export async function insideTransaction<Result>(mutex: Mutex, work: () => Promise<Result>): Promise<Result> {
  const transaction = { isOpen: true }
  try {
    return await inside(transaction, mutex, work)
  } finally {
    transaction.isOpen = false
  }
}

/** The same for a transaction that itself knows whether it has ended. */
export function inside<Result>(
  transaction: { readonly isOpen: boolean },
  mutex: Mutex,
  work: () => Promise<Result>,
): Promise<Result> {
  return current.run({ mutex, transaction, around: current.getStore() }, work)
}

/** Throws if the caller runs inside the transaction that holds the mutex: it would wait for itself. */
export function refuseInsideTransaction(mutex: Mutex): void {
  for (let place = current.getStore(); place !== undefined; place = place.around) {
    if (place.mutex !== mutex || !place.transaction.isOpen) continue
    throw new OutboxError(
      'OUTBOX_INSIDE_TRANSACTION',
      'This call would wait forever for the transaction that it is made in. ' +
        'Make it before or after the transaction; inside, use the tx that the transaction hands out.',
    )
  }
}
