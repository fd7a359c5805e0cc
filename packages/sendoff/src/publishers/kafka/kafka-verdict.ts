import type { Verdict } from '../broker-publisher.ts'
import { type ClientError, errorChain } from '../error-chain.ts'

// Error names of the protocol, as all clients use them, some with a prefix.
const hopeless =
  /^(?:ERR_)?_*(?:MESSAGE_TOO_LARGE|MSG_SIZE_TOO_LARGE|RECORD_LIST_TOO_LARGE|INVALID_RECORD|INVALID_TIMESTAMP|INVALID_MSG_SIZE)$/
const aboutMessages =
  /^(?:ERR_)?_*(?:UNKNOWN_TOPIC\w*|UNKNOWN_PARTITION|INVALID_TOPIC\w*|TOPIC_EXCEPTION|\w+_AUTHORIZATION_FAILED|INVALID_PARTITIONS|INVALID_ARG)$/

/**
 * Returns what an error means. Clients retry on their own where it helps. The remaining errors are about the
 * messages, or mean that no broker can accept them now: no leader, too few replicas, no connection, no reply.
 */
export function kafkaVerdict(error: unknown): Verdict {
  const chain = errorChain(error)
  const names = chain.flatMap(namesOf)
  if (names.some((name) => hopeless.test(name))) return 'fatal'
  if (names.some((name) => aboutMessages.test(name))) return 'retry'
  return chain[0] instanceof TypeError || names.includes('PLT_KFK_USER') ? 'retry' : 'unavailable'
}

// @confluentinc/kafka-javascript uses numbers for the errors of its own library.
const localErrors = new Map<unknown, string>([
  [-186, '_INVALID_ARG'],
  [-188, '_UNKNOWN_TOPIC'],
  [-190, '_UNKNOWN_PARTITION'],
])

function namesOf(error: ClientError): readonly string[] {
  const { code, type, apiId } = error as ClientError & { readonly type?: unknown; readonly apiId?: unknown }
  return [localErrors.get(code), code, type, apiId].filter((name) => typeof name === 'string')
}
