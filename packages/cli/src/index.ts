/** The parts of the command line that code can use: `openStore` and `defineConfig`. */
export { defineConfig, type SendoffConfig } from './config/config.ts'
export { openStore, type OpenStoreOptions } from './open-store/open-store.ts'
export type { SqlOrOtherStore } from './open-store/store-client.ts'
export type {
  KafkaTarget,
  MailTarget,
  NatsTarget,
  RabbitmqTarget,
  RedisStreamsTarget,
  RelayConfig,
  RelayMode,
  RelayOutboxOptions,
  RelayTarget,
} from './relay/relay-config.ts'
