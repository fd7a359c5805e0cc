import type { FaultStore } from './fault-store.ts'

// Loaded on demand, so that the processes of a run start without the drivers of others.
const stores: Readonly<Record<string, () => Promise<FaultStore>>> = {
  sqlite: async () => (await import('./sqlite-fault-store.ts')).sqliteFaultStore,
  postgres: async () => (await import('./postgres-fault-store.ts')).postgresFaultStore,
  mariadb: async () => (await import('./mariadb-fault-store.ts')).mariadbFaultStore,
  redis: async () => (await import('./redis-fault-store.ts')).redisFaultStore,
}

export function faultStore(name: string): Promise<FaultStore> {
  const load = stores[name]
  if (load === undefined) {
    throw new RangeError(`There is no store "${name}" here, only ${Object.keys(stores).join(', ')}.`)
  }
  return load()
}
