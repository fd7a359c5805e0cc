import type { OutboxRouting, StoredRouting } from '../../store/index.ts'

/** The routing of a memory store. */
export function memoryRouting(): OutboxRouting {
  let stored: StoredRouting | null = null

  return {
    async publish({ version, content }) {
      if (stored === null || stored.version < version) stored = { version, content }
      return stored
    },

    current: async () => stored,
  }
}
