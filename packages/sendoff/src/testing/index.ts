export type { RecordedDelivery } from './delivery-recorder.ts'
export { type FakeClock, fakeClock, type FakeClockOptions } from './fake-clock.ts'
export type {
  CheckedBroker,
  CheckedPublisherOptions,
  PublisherCheck,
  PublisherCheckContext,
  StoredMessage,
} from './publisher-check.ts'
export { publisherChecks } from './publisher-checks/index.ts'
export { RecordingListener } from './recording-listener.ts'
export { RecordingWriterHook, type WriterHookCall, type WriterMoment } from './recording-writer-hook.ts'
export { skipReason, type StoreCheck, type StoreCheckContext } from './store-check.ts'
export { storeChecks } from './store-checks/index.ts'
export { StubTxContext } from './stub-tx-context.ts'
export { type TestOutbox, testOutbox, type TestOutboxMode, type TestOutboxOptions } from './test-outbox.ts'
export type { WrittenEvent } from './written-event.ts'
