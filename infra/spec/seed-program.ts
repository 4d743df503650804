/** The program in the image that puts the node's first configuration where it is missing. */
export const seedProgram = "/app/infra/images/seed-node-conf.ts";

/** The variable in which it finds the address that the node tells to its peers. */
export const hostIpVariable = "HOST_IP";
