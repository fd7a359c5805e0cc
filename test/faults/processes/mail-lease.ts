/** Longer than a busy machine makes a process wait, so that only kills lose leases. */
export const mailLeaseMs = 5_000
