import {
  connectionLost,
  type ExecutionOptions,
  type Outcome,
  type SimulatedDatabase,
} from '../database/simulated-database.ts'
import type { DatabaseTransaction, Program } from '../database/transaction.ts'
import type { CallFaultKind, Network } from './network.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** The faults of a call that end its connection. */
const connectionFaults: ReadonlySet<CallFaultKind> = new Set(['refused', 'cut', 'lostAnswer'])

interface PendingCall {
  readonly what: string
  readonly since: number
  fail(error: Error): void
}

/**
 * The calls of one process to its database. Each call goes over a connection of its own, so that answers come
 * in any order, late, twice as late, or not at all.
 */
export class ProcessCalls {
  readonly #process: SimulatedProcess
  readonly #db: SimulatedDatabase
  readonly #network: Network
  readonly #pending = new Set<PendingCall>()
  readonly #open = new Set<DatabaseTransaction>()
  #begun = 0

  constructor(process: SimulatedProcess, db: SimulatedDatabase, network: Network) {
    this.#process = process
    this.#db = db
    this.#network = network
    // The server notices the end of its client sooner or later.
    process.onKilled(() => {
      for (const tx of this.#open)
        network.after(network.hopMs(this.#actor('end')) * 20, () => db.rollback(tx))
    })
  }

  /** Runs a statement that commits by itself. */
  call<Result>(
    what: string,
    body: (tx: DatabaseTransaction) => Program<Result>,
    options: ExecutionOptions = {},
  ): Promise<Result> {
    return this.#send(what, options, (faults, done) =>
      this.#db.execute(this.#actor(what), body, done, { ...options, ...faults }),
    )
  }

  /** Runs a statement in an open transaction. */
  inside<Result>(
    tx: DatabaseTransaction,
    what: string,
    body: (tx: DatabaseTransaction) => Program<Result>,
  ): Promise<Result> {
    return this.call(what, body, { tx })
  }

  /** Does something at the server that takes no time and locks nothing. */
  now<Result>(what: string, effect: () => Result): Promise<Result> {
    return this.#send(what, {}, (_, done) =>
      done(this.#db.isDown ? { error: connectionLost('The database is down.') } : { value: effect() }),
    )
  }

  begin(): Promise<DatabaseTransaction> {
    return this.now('begin', () => {
      const tx = this.#db.begin(`${this.#process.name} tx ${++this.#begun}`)
      this.#open.add(tx)
      return tx
    })
  }

  async end(tx: DatabaseTransaction, how: 'commit' | 'rollback'): Promise<void> {
    await this.#send(how, { tx }, ({ isCut }, done) => {
      this.#open.delete(tx)
      if (tx.state !== 'open') return done({ error: connectionLost('The transaction is gone.') })
      if (how === 'rollback' || isCut) this.#db.rollback(tx)
      else this.#db.commit(tx)
      done(isCut ? { error: connectionLost('The server ended the connection.') } : { value: undefined })
    })
  }

  /** Brings a signal of the server to the process, if it does not get lost. */
  signal(callback: () => void): void {
    for (const ms of this.#network.signalDelays(this.#process.slot, this.#actor('signal'))) {
      this.#network.after(ms, () => this.#process.reach(callback))
    }
  }

  /** Returns since when the oldest of such calls has waited for its answer; undefined if none waits. */
  waitingSince(what: string): number | undefined {
    // They are in the order in which they began.
    for (const call of this.#pending) if (call.what === what) return call.since
    return undefined
  }

  /** Ends the connections on which calls have waited for as long. */
  dropSilent(silentMs: number): void {
    const latest = this.#network.now - silentMs * 0.9
    for (const call of [...this.#pending]) {
      if (call.since <= latest) call.fail(connectionLost('The connection was silent, and is closed.'))
    }
  }

  #send<Result>(
    what: string,
    { tx }: ExecutionOptions,
    arrive: (
      faults: Pick<ExecutionOptions, 'stallMs' | 'isCut'>,
      done: (outcome: Outcome<Result>) => void,
    ) => void,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const process = this.#process
      if (process.isDead) return
      const network = this.#network
      const actor = this.#actor(what)
      const fault = network.faultOf(process.slot, what)
      const call: PendingCall = {
        what,
        since: network.now,
        fail: (error) => this.#pending.delete(call) && process.reach(() => reject(error)),
      }
      this.#pending.add(call)
      const answer = (outcome: Outcome<Result>, extraMs = 0) => {
        if (network.isSilent(process.slot)) return lost()
        network.after(network.hopMs(actor) + extraMs, () => {
          if ('error' in outcome) call.fail(outcome.error)
          else if (this.#pending.delete(call)) process.reach(() => resolve(outcome.value))
        })
      }
      // A caller outside the engine has no time limit of its own, but its connection has one.
      const lost = () => {
        if (tx === undefined && what !== 'begin') return
        network.after(network.silentConnectionMs, () => {
          if (tx !== undefined) this.#db.rollback(tx)
          call.fail(connectionLost('The connection was silent for too long.'))
        })
      }
      if (tx !== undefined && fault !== undefined && connectionFaults.has(fault.kind)) {
        // The server ends what was open on a connection that is gone.
        network.after(network.hopMs(actor) * 10 + 1_000, () => this.#db.rollback(tx))
      }
      if (fault?.kind === 'refused') return answer({ error: connectionLost('The connection was refused.') })
      if (fault?.kind === 'neverArrives' || network.isSilent(process.slot)) return lost()

      network.after(network.hopMs(actor) + (fault?.kind === 'lateArrival' ? fault.ms : 0), () =>
        arrive(
          {
            ...(fault?.kind === 'stall' && { stallMs: fault.ms }),
            ...(fault?.kind === 'cut' && { isCut: true }),
          },
          (outcome) => {
            network.told(process, what, outcome)
            if (fault?.kind === 'silentAnswer') return lost()
            if (fault?.kind === 'lostAnswer')
              return answer({ error: connectionLost('The connection was lost.') })
            answer(outcome, fault?.kind === 'lateAnswer' ? fault.ms : 0)
          },
        ),
      )
    })
  }

  #actor(what: string): string {
    return `${this.#process.slot} ${what}`
  }
}
