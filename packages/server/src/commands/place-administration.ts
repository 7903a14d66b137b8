import type { Keys, Namespaces } from '@memoryd/engine';

/** Administration of a database, or of a service. */
export interface PlaceAdministration {
  /** The name of the database, or the address of the service, for messages. */
  place: string;
  /** Options that name the place. Undefined for a service, in which loopback can be opened only through its database. */
  ownFlags: string | undefined;
  keys: Pick<Keys, 'add' | 'list' | 'revoke' | 'areRequired' | 'openLoopback'>;
  namespaces: Pick<Namespaces, 'list' | 'delete' | 'setQuota' | 'userQuota' | 'setUserQuota'>;
}
