import { deepEqual } from 'node:assert/strict'
import { it } from 'node:test'
import * as contract from 'sendoff/store'

it('sendoff/store has, as values, what a store needs to keep the contract', () => {
  deepEqual(Object.keys(contract).sort(), [
    'EventStatus',
    'OutboxError',
    'boundsAround',
    'duplicateEventId',
    'errorClassOf',
    'filteredEnding',
    'findingCodes',
    'hasChanged',
    'idTimeMarginMs',
    'inDueOrder',
    'inScanOrder',
    'isAuditStep',
    'isPending',
    'latestRouting',
    'matchesFilter',
    'maxConsumerLength',
    'maxCountedWaiting',
    'maxDelayMs',
    'maxErrorLength',
    'maxFailureText',
    'maxMessageIdLength',
    'maxParkedKeys',
    'maxRoutingVersion',
    'nextPlace',
    'parkKind',
    'participantLock',
    'participantPrefix',
    'partitionCount',
    'partitionOf',
    'partitionOfRow',
    'placeBehind',
    'requireParts',
    'routingName',
    'scanScope',
    'storedErrorText',
    'usualDoctorRequest',
  ])
})
