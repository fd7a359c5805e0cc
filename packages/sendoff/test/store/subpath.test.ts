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
    'hasChanged',
    'idTimeMarginMs',
    'inDueOrder',
    'inScanOrder',
    'isAuditStep',
    'isPending',
    'matchesFilter',
    'maxCountedWaiting',
    'maxDelayMs',
    'maxErrorLength',
    'maxFailureText',
    'maxParkedKeys',
    'nextPlace',
    'participantLock',
    'participantPrefix',
    'partitionCount',
    'partitionOf',
    'partitionOfRow',
    'placeBehind',
    'requireParts',
    'scanScope',
    'storedErrorText',
  ])
})
