export type { StoreCheck, StoreCheckContext } from './store-check.ts'
export { storeChecks } from './store-checks/index.ts'
