import { serviceUser, type ServiceSpec } from "./service-spec.ts";

/** The user of a node's image, in the group that owns the workspace beside it; the devnet's is that of all of Gatehouse. */
export function nodeUser(imageUser: number | undefined): ServiceSpec["user"] {
  return imageUser === undefined ? serviceUser : { uid: imageUser, gid: serviceUser.gid };
}
