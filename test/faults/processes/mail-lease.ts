/** Longer than a busy machine lets a process wait, so that leases are lost by kills alone. */
export const mailLeaseMs = 5_000
