import type { OutboxNodes, OutboxRouting, StoredRouting } from '../../store/index.ts'

/**
 * Whether a table has its indexes by destination. Only a table with a routing gets them, so that others do
 * not pay for them. A store looks for them with every heartbeat. While they are missing, its statements go
 * by the indexes that every table has, and pass over the rows of other destinations.
 */
export class DestinationIndexes {
  readonly #look: () => Promise<boolean>
  #areThere = false

  /** `look` returns whether statements can use the indexes. */
  constructor(look: () => Promise<boolean>) {
    this.#look = look
  }

  /** Whether the indexes lead to the rows of a request: they are there, and it names its destination. */
  cover({ destination }: { readonly destination?: string | undefined }): boolean {
    return this.#areThere && destination !== undefined
  }

  /** Returns the processes of a store. Each heartbeat looks for the indexes. */
  followedBy(nodes: OutboxNodes): OutboxNodes {
    return {
      ...nodes,
      join: async (node) => {
        const answer = await nodes.join(node)
        if (answer.kind === 'joined') await this.#follow(answer.routing)
        return answer
      },
    }
  }

  /** Returns the routing of a store. Each read of it looks for the indexes. */
  followedByRouting(routing: OutboxRouting): OutboxRouting {
    return {
      ...routing,
      current: async () => {
        const stored = await routing.current()
        await this.#follow(stored)
        return stored
      },
    }
  }

  async #follow(routing: StoredRouting | null | undefined): Promise<void> {
    this.#areThere = (routing ?? null) !== null && (await this.#look())
  }
}
