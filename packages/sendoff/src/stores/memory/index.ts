export type { MemoryStore, MemoryStoreOptions } from './memory-store.ts'
export { memoryStore } from './memory-store.ts'
export type { MemoryTx } from './memory-transaction.ts'
