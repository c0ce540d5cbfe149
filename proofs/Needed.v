(** Why the hypotheses are there, and that the bounds are reached: small cases, computed.

    The pair of laws is the zero-inflated one with R = 3/2, G = 1 and L = 3: of 6 parts, a batched act has 3
    each on delays 1 and 2, an unbatched one has 2 each on 0, 1 and 2. *)

From Coq Require Import ZArith QArith List.
Import ListNotations.
From Tarry Require Import Streams Season Acts.
From Tarry Require ZeroInflated Block.
Open Scope Z_scope.

Definition b : Z -> Q := over 6 (ZeroInflated.b 3 1 3).
Definition u : Z -> Q := over 6 (ZeroInflated.u 3 2 1 3).

(** * The zero-inflated pair *)

(** The ratio is reached: no smaller R would do. *)
Example ratio_reached : 2 * ZeroInflated.b 3 1 3 1 = 3 * ZeroInflated.u 3 2 1 3 (1 - 1).
Proof. reflexivity. Qed.

(** A support that is one part too short: an unbatched act leaves at once too seldom. *)
Example support_too_short :
  2 * 2 = 3 * (2 - 1) + 1 /\ 2 * ZeroInflated.b 3 1 2 1 > 3 * ZeroInflated.u 3 2 1 2 (1 - 1).
Proof. now split. Qed.

(** A shift beyond G: what was released after 1 cannot have arrived after 2. *)
Example shift_too_long : 2 * ZeroInflated.b 3 1 3 1 > 3 * ZeroInflated.u 3 2 1 3 (1 - 2).
Proof. reflexivity. Qed.

(** * Block laws *)

(** Masses that are not symmetric: a shift of a whole block costs less than none. Shifts are not alike. *)
Example not_symmetric :
  let H := Block.H 2 1 (Block.listed [0; 1]) (Block.listed [1; 0]) 1 1 in H 0 = 1 /\ H 1 = 0.
Proof. now split. Qed.

(** * Theorem 1'' *)

(** What is seen of an outcome in truth and in the story, with a window of 0 and no hold. *)
Definition seen (places : list (act * act)) (outcome : list Z) : Q * Q :=
  (Qred (chance 0 b u 0 (truth places) outcome), Qred (chance 0 b u 0 (story places) outcome)).

(** A pair of which one act is a tick later in the story: both labels differ, and R^2 = 9/4 is reached. *)
Example bound_reached :
  let places := [(Act 0 0 0, Act 0 0 0); (Act 0 1 0, Act 0 1 1)] in
  lost 0 places = 2%nat /\ seen places [1; 2] = (1 # 4, 1 # 9)%Q.
Proof. now split. Qed.

(** A lone act may not move: no label differs, and what is seen cannot happen in the story. *)
Example lone_act_moved :
  let places := [(Act 0 0 0, Act 0 0 1)] in
  lost 0 places = 0%nat /\ seen places [0] = (1 # 3, 0)%Q.
Proof. now split. Qed.

(** An act may not come earlier in the story: a long delay cannot be longer. *)
Example act_moved_back :
  let places := [(Act 0 0 1, Act 0 0 0); (Act 0 1 1, Act 0 1 1)] in
  lost 0 places = 2%nat /\ seen places [3; 2] = (1 # 4, 0)%Q.
Proof. now split. Qed.

(** A changed act may not be batched in the story: here it leaves one batch for another, and the third act,
    which is alone in truth and leaves at once, could not do so in the story. *)
Example changed_act_batched :
  let places := [(Act 0 0 0, Act 0 0 0); (Act 0 1 0, Act 0 1 1); (Act 0 2 1, Act 0 2 1)] in
  seen places [1; 2; 1] = (1 # 12, 0)%Q.
Proof. reflexivity. Qed.

(** * Theorem 2 *)

(** Two acts cost more than one: the number N cannot be left out. At c = 1 they cost 1 - 1/R^2, one costs
    1 - 1/R. *)
Example more_acts_cost_more :
  let cost N := Qred (H_copies 4 (over 6 (ZeroInflated.b 3 1 3)) (over 6 (ZeroInflated.u 3 2 1 3)) N 1 1) in
  cost 1%nat = (1 # 3)%Q /\ cost 2%nat = (5 # 9)%Q.
Proof. now split. Qed.
