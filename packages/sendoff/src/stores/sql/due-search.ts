import { partitionOfRow } from '../../store/partition-of.ts'
import type { DuePlace, LaneRequest } from '../../store/index.ts'

/** The columns of a due row that decide whether a lane read wants it. */
export interface DueRow extends DuePlace {
  readonly eventId: string
  readonly orderingKey: string | null
  readonly partitionNo: number | null
  readonly destination: string
}

/** How many rows to examine at a time. */
const pageRows = 500

/**
 * The search for ordering keys among due rows, page by page in due order. It continues to the end of the
 * window, or to the last row that is wanted.
 *
 * This code, not the database, decides which rows are wanted. A statement with thousands of excepted keys
 * costs more than reading a few columns of rows that are not wanted. A window in a subquery takes MariaDB
 * twice as long.
 */
export class DueSearch {
  readonly found: DueRow[] = []
  readonly #limit: number
  readonly #partitions: ReadonlySet<number>
  readonly #excepted: ReadonlySet<string>
  readonly #destination: string | undefined
  #unseen: number
  #from: DuePlace | undefined
  #next: DuePlace | undefined

  constructor({ partitions, except, from, window, limit, destination }: LaneRequest) {
    this.#limit = limit
    this.#partitions = new Set(partitions)
    this.#excepted = new Set(except)
    this.#destination = destination
    this.#unseen = limit > 0 && partitions.length > 0 ? window : 0
    this.#from = from
  }

  /** How many rows to examine next; 0 if the search is over. */
  get pageSize(): number {
    return Math.max(0, Math.min(pageRows, this.#unseen))
  }

  /** Where the next page begins; undefined for the first row that is due. */
  get from(): DuePlace | undefined {
    return this.#from
  }

  /** Where the next search continues; undefined if everything due has been examined. */
  get next(): DuePlace | undefined {
    return this.#next
  }

  look(page: readonly DueRow[]): void {
    const isLast = page.length < this.pageSize
    this.#unseen -= page.length

    for (const row of page) {
      if (!this.#isWanted(row)) continue
      this.found.push(row)
      if (this.found.length === this.#limit) return this.#endAt(row)
    }
    const last = page.at(-1)
    if (isLast || last === undefined) return this.#endAt(undefined)
    this.#from = { availableAt: last.availableAt, seq: last.seq + 1 }
    this.#next = { availableAt: last.availableAt, seq: last.seq }
  }

  #isWanted(row: DueRow): boolean {
    if (this.#destination !== undefined && row.destination !== this.#destination) return false
    return !this.#excepted.has(row.orderingKey ?? row.eventId) && this.#partitions.has(partitionOfRow(row))
  }

  #endAt(row: DueRow | undefined): void {
    this.#unseen = 0
    this.#next = row && { availableAt: row.availableAt, seq: row.seq }
  }
}
