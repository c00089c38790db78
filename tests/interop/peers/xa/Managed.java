import javax.transaction.TransactionManager;
import javax.transaction.xa.XAException;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;

/** A transaction manager with its log. */
interface Managed {
  TransactionManager manager() throws Exception;

  /** As one that starts again: what its log knows is committed, and all else that is in doubt rolled back. */
  void recover() throws Exception;

  /** How many branches a broker has prepared. */
  static int inDoubt(XAResource resource) throws XAException {
    Xid[] found = resource.recover(XAResource.TMSTARTRSCAN | XAResource.TMENDRSCAN);
    return found == null ? 0 : found.length;
  }
}
