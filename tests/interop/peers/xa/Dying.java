import java.io.Serializable;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;

/** A resource in whose prepare, or commit, the process is gone. */
final class Dying implements XAResource, Serializable {
  private static final int GONE = 9;
  private static final long serialVersionUID = 1;
  private static boolean working; // not in the life that recovers
  private final String when;

  Dying(String when) {
    working = true;
    this.when = when;
  }

  @Override
  public int prepare(Xid xid) {
    if (when.equals("unlogged")) {
      Runtime.getRuntime().halt(GONE);
    }
    return XA_OK;
  }

  @Override
  public void commit(Xid xid, boolean onePhase) {
    if (working && when.equals("logged")) {
      Runtime.getRuntime().halt(GONE);
    }
  }

  @Override
  public void start(Xid xid, int flags) {}

  @Override
  public void end(Xid xid, int flags) {}

  @Override
  public void rollback(Xid xid) {}

  @Override
  public void forget(Xid xid) {}

  @Override
  public Xid[] recover(int flag) {
    return new Xid[0];
  }

  @Override
  public boolean isSameRM(XAResource other) {
    return other instanceof Dying;
  }

  @Override
  public boolean setTransactionTimeout(int seconds) {
    return false;
  }

  @Override
  public int getTransactionTimeout() {
    return 0;
  }
}
