import { httpPublisher } from '../../../src/publishers/http/index.ts'
import { WebhookReceiver } from './webhook-receiver.ts'
import { type BrokerUnderTest, runPublisherChecks } from '../run-publisher-checks.ts'

const maxBytes = 100_000

async function open(): Promise<BrokerUnderTest> {
  const receiver = await WebhookReceiver.start()
  receiver.respond = ({ path, bytes }, response) => {
    const status = path === '/unknown' ? 404 : bytes.length > maxBytes ? 413 : 204
    response.writeHead(status).end()
  }
  return {
    makeDestination: (name) => Promise.resolve(`${receiver.url}/${name}`),
    unknownDestination: `${receiver.url}/unknown`,
    publisher: ({ destination, ...options }) =>
      Promise.resolve(httpPublisher({ url: destination, allowPrivateAddresses: true, ...options })),
    stored: (destination) =>
      Promise.resolve(
        receiver.received
          .filter(({ path, bytes }) => receiver.url + path === destination && bytes.length <= maxBytes)
          .map(({ bytes, headers }) => ({ body: bytes, contentType: headers['content-type'], headers })),
      ),
    broker: receiver,
    close: () => receiver.kill(),
  }
}

runPublisherChecks('the HTTP publisher', {
  unknownDestinations: 'refused',
  tooLargeBytes: maxBytes + 1,
  silence: 'failed',
  attributePrefix: 'ce-',
  encodesHeaders: true,
  openShared: open,
  openPrivate: open,
})
