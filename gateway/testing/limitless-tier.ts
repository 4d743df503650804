/** A tier whose limits no test reaches by chance. */
export const limitlessTier = {
  requestsPerSecond: 1e7,
  requestBurst: 1e7,
  computeUnitsPerSecond: 1e9,
  computeUnitBurst: 1e9,
  concurrency: 4_096,
};
