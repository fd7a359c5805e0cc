import { type HistoryFile, monotonicMs } from '../history/history-file.ts'

/** How probable it is that a renewal of leases or of a lock gets no answer. */
export interface RenewalLosses {
  /** That this one gets none; the next one does. */
  readonly one: number
  /** That all get none for two leases. */
  readonly all: number
}

/** The harm that is done here: it keeps no process from settling. */
export const renewalHarmNames: readonly string[] = ['silentRenewal', 'silentRenewals']

/**
 * Renewals that are lost on their way, and never answered: one now and then, or all of them for a while. One alone costs
 * no lease: hence it is not said to have cut the process off. Harm from outside hardly ever finds these moments.
 */
export class SilentRenewals {
  readonly #history: HistoryFile
  readonly #losses: RenewalLosses
  readonly #leaseMs: number
  #silence = { from: -Infinity, until: -Infinity }

  constructor(history: HistoryFile, losses: RenewalLosses, leaseMs: number) {
    this.#history = history
    this.#losses = losses
    this.#leaseMs = leaseMs
  }

  of<Target extends { renew(...request: never[]): Promise<unknown> }>(target: Target): Target {
    let wasLost = false
    const renew = (...request: never[]): Promise<unknown> => {
      wasLost = !wasLost && this.#losesOne()
      if (this.#losesAll() || wasLost) return new Promise(() => {})
      return target.renew(...request)
    }
    return new Proxy(target, {
      get: (_, name) => {
        if (name === 'renew') return renew
        const member = Reflect.get(target, name) as unknown
        return typeof member === 'function' ? (member.bind(target) as unknown) : member
      },
    })
  }

  #losesOne(): boolean {
    if (Math.random() >= this.#losses.one) return false
    this.#sayOutage('silentRenewal')
    return true
  }

  #losesAll(): boolean {
    const now = monotonicMs()
    if (now >= this.#silence.until && Math.random() < this.#losses.all) {
      this.#silence = { from: now, until: now + 2 * this.#leaseMs }
      this.#sayOutage('silentRenewals')
    }
    if (now >= this.#silence.until) return false
    this.#history.say({ kind: 'cutOff', since: this.#silence.from, what: 'silent renewals' })
    return true
  }

  #sayOutage(what: string): void {
    const slot = this.#history.process.split('.')[0]!
    this.#history.say({ kind: 'outage', what, since: monotonicMs(), slot })
  }
}
