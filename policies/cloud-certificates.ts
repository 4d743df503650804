/** Annotations by which the load balancer of a cloud has certificates for an Ingress, in place of a Secret: of the AWS Load Balancer Controller, and of GKE. */
export const cloudCertificates: readonly string[] = [
  "alb.ingress.kubernetes.io/certificate-arn",
  "networking.gke.io/managed-certificates",
  "ingress.gcp.kubernetes.io/pre-shared-cert",
];
