import { BlockList, isIP } from 'node:net'

// IANA's registry of special-purpose IPv4 addresses, without those that are publicly reachable, and
// multicast.
const privateIpv4 = blockListOf('ipv4', [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
])

// Contains all public IPv6 addresses. Outside are loopback, local and multicast addresses, among others. So
// are addresses that carry an IPv4 address: compatible, mapped, and NAT64, whose translator may lead
// anywhere.
const publicIpv6 = blockListOf('ipv6', [['2000::', 3]])

// The rest of IANA's registry of special-purpose IPv6 addresses.
const privateIpv6 = blockListOf('ipv6', [
  ['2001::', 23], // protocol assignments, Teredo among them
  ['2001:db8::', 32],
  ['2002::', 16], // 6to4
  ['3fff::', 20],
])

/** Returns whether an address belongs to this machine or a private network, or is otherwise not public. */
export function isPrivateAddress(address: string): boolean {
  if (isIP(address) === 4) return privateIpv4.check(address, 'ipv4')
  return !publicIpv6.check(address, 'ipv6') || privateIpv6.check(address, 'ipv6')
}

function blockListOf(
  family: 'ipv4' | 'ipv6',
  ranges: readonly (readonly [network: string, prefix: number])[],
): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family)
  return list
}
