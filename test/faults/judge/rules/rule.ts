import type { JudgedHistory } from '../judged-history.ts'

/** Finds everything in a history that breaks one promise, and describes it in words. */
export interface Rule {
  readonly name: string
  violations(history: JudgedHistory): Iterable<string>
}
