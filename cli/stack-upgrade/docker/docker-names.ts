/** Builds the names of a stack's containers and volumes that an upgrade touches. Pure. */
export function buildNames({ prefix }: Readonly<{ prefix: string }>) {
  return {
    node: `${prefix}-node`,
    sidecar: `${prefix}-sidecar`,
    job: `${prefix}-node-upgrade`,
    look: `${prefix}-node-look`,
    volume: `${prefix}-node-workspace`,
  };
}
