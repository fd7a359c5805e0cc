export type { Publisher, Routed } from '../../publisher.ts'
export type { CloudEventsOptions, PublisherOptions } from '../publisher-options.ts'
export { httpPublisher, type HttpPublisherOptions } from './http-publisher.ts'
