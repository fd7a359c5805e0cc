import { deepEqual } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isPrivateAddress } from '../../../src/publishers/http/private-address.ts'

const privateAddresses = [
  ['0.0.0.0', '10.0.0.1', '100.64.0.1', '100.127.255.255', '127.0.0.1', '169.254.169.254', '172.31.255.255'],
  ['192.0.0.1', '192.0.2.1', '192.88.99.1', '192.168.0.1', '198.18.0.1', '198.19.255.255', '198.51.100.1'],
  ['203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
  ['::', '::1', '::7f00:1', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:0:127.0.0.1'],
  ['64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::1', '100::1', '100:0:0:1::1', '2001::1', '2001:10::1'],
  ['2001:20::1', '2001:db8::1', '2002:7f00:1::1', '3fff::1', '3fff:fff::1', '5f00::1', 'fc00::1', 'fd00::1'],
  ['fe80::1', 'fe80::1%eth0', 'febf::1', 'fec0::1', 'feff::1', 'ff02::1', '4000::1', 'e000::1'],
].flat()

const publicAddresses = [
  ['1.1.1.1', '9.255.255.255', '11.0.0.1', '100.63.255.255', '100.128.0.1', '126.255.255.255', '128.0.0.1'],
  ['169.253.255.255', '172.15.255.255', '172.32.0.1', '192.0.1.1', '192.167.255.255', '198.17.255.255'],
  ['198.20.0.1', '223.255.255.255', '2001:4860:4860::8888', '2606:4700::1111', '2a00:1450::1', '2003::1'],
].flat()

describe('isPrivateAddress', () => {
  it('knows every special address of the registries', () => {
    deepEqual(
      privateAddresses.filter((address) => !isPrivateAddress(address)),
      [],
    )
  })

  it('treats no public address as private', () => {
    deepEqual(publicAddresses.filter(isPrivateAddress), [])
  })
})
