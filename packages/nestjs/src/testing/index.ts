export {
  type OutboxOverride,
  OutboxTestingModule,
  type OutboxTestingOptions,
  useTestOutbox,
} from './outbox-testing-module.ts'
