(** Theorem 2: what many acts give away together ([src/tarry/core/proofs/season.md]). *)

From Coq Require Import ZArith QArith Lia Lqa List.
Import ListNotations.
From Tarry Require Import Sums.
Open Scope Q_scope.

(** * Courses *)

(** What an observer sees, one thing after the other. At each point one of n outcomes follows, with chances
    p in truth and q in the other story, and what comes next may depend on it. The two laws may differ at a
    point ([true]: an act whose label differs) or not ([false]: anything else). *)
Inductive course :=
| Over
| See (differing : bool) (n : Z) (p q : Z -> Q) (next : Z -> course).

(** Masses of 0..n-1 that are not negative and sum to 1. *)
Definition is_law (n : Z) (p : Z -> Q) : Prop :=
  (forall i, (0 <= i < n)%Z -> 0 <= p i) /\ qsum n p == 1.

(** H_c(P, Q): the sum over all outcomes of the positive part of P - c Q. *)
Definition H (c : Q) (n : Z) (p q : Z -> Q) : Q := qsum n (fun i => qpos (p i - c * q i)).

(** * Chances of a whole course *)

(** The same sum over all ends of a course. X is the chance in truth of all that was seen before, Y is c
    times its chance in the story: at the beginning they are 1 and c. *)
Fixpoint H_course (X Y : Q) (t : course) : Q :=
  match t with
  | Over => qpos (X - Y)
  | See _ n p q next => qsum n (fun i => H_course (X * p i) (Y * q i) (next i))
  end.

(** The two laws of a point: in truth, and in the story. *)
Inductive side := Truth | Story.

Definition law_in (which : side) (p q : Z -> Q) : Z -> Q :=
  match which with
  | Truth => p
  | Story => q
  end.

(** The chance of a set of ends; an end is the list of the outcomes that led to it. *)
Fixpoint chance_in (which : side) (t : course) (ends : list Z -> bool) : Q :=
  match t with
  | Over => if ends [] then 1 else 0
  | See _ n p q next =>
      qsum n (fun i => law_in which p q i * chance_in which (next i) (fun path => ends (i :: path)))
  end.

(** No set of ends is more likely in truth than [H_course] allows: P <= c Q + H_c. *)
Lemma every_set_of_ends : forall t c ends,
  chance_in Truth t ends <= c * chance_in Story t ends + H_course 1 c t.
Proof.
  assert (forall t X Y ends,
    X * chance_in Truth t ends - Y * chance_in Story t ends <= H_course X Y t) as each.
  { induction t as [| differing n p q next IH]; intros X Y ends; simpl.
    - pose proof (qpos_above (X - Y)). destruct (ends []); lra.
    - apply Qle_trans with (qsum n (fun i =>
        X * p i * chance_in Truth (next i) (fun path => ends (i :: path)) +
        - (Y * q i * chance_in Story (next i) (fun path => ends (i :: path))))).
      + rewrite qsum_add.
        rewrite (qsum_ext n (fun i => X * p i * _) (fun i =>
          X * (p i * chance_in Truth (next i) (fun path => ends (i :: path))))) by (intros; ring).
        rewrite (qsum_ext n (fun i => - (Y * q i * _)) (fun i =>
          (- Y) * (q i * chance_in Story (next i) (fun path => ends (i :: path))))) by (intros; ring).
        rewrite !qsum_times. lra.
      + apply qsum_le. intros i _.
        specialize (IH i (X * p i) (Y * q i) (fun path => ends (i :: path))). lra. }
  intros t c ends. specialize (each t 1 c ends). lra.
Qed.

Section Dominated.

(** * The pair (P, Q) that dominates every act whose label differs *)

(** Q is the type of fractions, so the second law is called Q'. *)
Variables (k : Z) (P Q' : Z -> Q).
Hypothesis P_is_a_law : is_law k P.
Hypothesis Q_is_a_law : is_law k Q'.

(** Two laws are at most as easy to tell apart as P and Q', at every c. *)
Definition dominated (n : Z) (p q : Z -> Q) : Prop := forall c, 0 <= c -> H c n p q <= H c k P Q'.

(** A course in which laws are laws, what differs is dominated, and at most N points of a path differ. *)
Fixpoint at_most (N : nat) (t : course) : Prop :=
  match t with
  | Over => True
  | See false n p q next =>
      is_law n p /\ (forall i, (0 <= i < n)%Z -> p i == q i) /\
      forall i, (0 <= i < n)%Z -> at_most N (next i)
  | See true n p q next =>
      is_law n p /\ is_law n q /\ dominated n p q /\
      match N with
      | O => False
      | S fewer => forall i, (0 <= i < n)%Z -> at_most fewer (next i)
      end
  end.

(** H of N independent copies of (P, Q), with X and Y as above. *)
Fixpoint H_copies (N : nat) (X Y : Q) : Q :=
  match N with
  | O => qpos (X - Y)
  | S fewer => qsum k (fun i => H_copies fewer (X * P i) (Y * Q' i))
  end.

(** Equal fractions give equal sums. *)
Lemma copies_respect_equality N : forall X X' Y Y', X == X' -> Y == Y' ->
  H_copies N X Y == H_copies N X' Y'.
Proof.
  induction N as [| N IH]; intros X X' Y Y' same_X same_Y; simpl.
  - now rewrite same_X, same_Y.
  - apply qsum_ext. intros. apply IH; [now rewrite same_X | now rewrite same_Y].
Qed.

(** A factor that both stories share comes out of the sum. *)
Lemma copies_times N : forall c X Y, 0 <= c -> H_copies N (X * c) (Y * c) == c * H_copies N X Y.
Proof.
  induction N as [| N IH]; intros c X Y positive; simpl.
  - rewrite <- qpos_times by assumption. apply qpos_proper. ring.
  - rewrite <- qsum_times. apply qsum_ext. intros. rewrite <- IH by assumption.
    apply copies_respect_equality; ring.
Qed.

(** One more copy never hides anything: H grows with the number of copies. *)
Lemma copies_grow N : forall X Y, qpos (X - Y) <= H_copies N X Y.
Proof.
  induction N as [| N IH]; intros X Y; simpl; [lra |].
  apply Qle_trans with (qsum k (fun i => qpos (X * P i - Y * Q' i))); [| apply qsum_le; intros; apply IH].
  apply Qle_trans with (qpos (qsum k (fun i => X * P i - Y * Q' i))); [| apply qpos_sum].
  apply Qle_lteq. right. apply qpos_proper.
  rewrite (qsum_ext k _ (fun i => X * P i + (- Y) * Q' i)) by (intros; ring).
  rewrite qsum_add, !qsum_times, (proj2 P_is_a_law), (proj2 Q_is_a_law). ring.
Qed.

(** One dominated point before N copies is at most one copy more. For N = 0 that is what domination says, at
    c = Y / X; and the copies can be summed first. *)
Lemma one_point_more n p q : is_law n p -> is_law n q -> dominated n p q ->
  forall N X Y, 0 <= X -> 0 <= Y ->
  qsum n (fun i => H_copies N (X * p i) (Y * q i)) <= H_copies (S N) X Y.
Proof.
  intros law_p law_q below. induction N as [| N IH]; intros X Y posX posY.
  - simpl. destruct (Qlt_le_dec 0 X) as [some | none].
    + (* X is positive: take it out *)
      assert (forall m f g, qsum m (fun i => qpos (X * f i - Y * g i)) == X * H (Y / X) m f g) as out.
      { intros m f g. unfold H. rewrite <- qsum_times. apply qsum_ext. intros i _.
        rewrite <- qpos_times by assumption. apply qpos_proper. field. lra. }
      rewrite !out. apply Qmult_le_compat_nonneg; split; try lra.
      * unfold H. rewrite <- (qsum_zero n). apply qsum_le. intros. apply qpos_above.
      * apply below. apply Qle_shift_div_l; lra.
    + (* X is 0: nothing is positive *)
      apply Qle_trans with (qsum n (fun _ => 0)).
      * apply qsum_le. intros i inside. apply qpos_least; [lra |].
        assert (0 <= p i) by now apply law_p. assert (0 <= q i) by now apply law_q. nra.
      * rewrite qsum_zero, <- (qsum_zero k). apply qsum_le. intros. apply qpos_above.
  - (* sum over the first copy last *)
    change (H_copies (S N)) with (fun X Y => qsum k (fun m => H_copies N (X * P m) (Y * Q' m))). cbv beta.
    change (H_copies (S (S N)) X Y) with (qsum k (fun m => H_copies (S N) (X * P m) (Y * Q' m))).
    rewrite qsum_swap. apply qsum_le. intros m inside.
    assert (0 <= P m) by now apply P_is_a_law. assert (0 <= Q' m) by now apply Q_is_a_law.
    apply Qle_trans with (qsum n (fun i => H_copies N (X * P m * p i) (Y * Q' m * q i))).
    + apply Qle_lteq. right. apply qsum_ext. intros. apply copies_respect_equality; ring.
    + apply IH; apply Qmult_le_0_compat; assumption.
Qed.

(** (d) Theorem 2: a course with at most N differing points on a path costs at most N copies of (P, Q). By
    induction over the course, from its end. *)
Theorem theorem_2 : forall t N, at_most N t -> forall X Y, 0 <= X -> 0 <= Y ->
  H_course X Y t <= H_copies N X Y.
Proof.
  induction t as [| differing n p q next IH]; intros N fits X Y posX posY; [apply copies_grow |].
  destruct differing; simpl in fits |- *.
  - (* a label differs: one copy is used up *)
    destruct fits as (law_p & law_q & below & rest). destruct N as [| N]; [contradiction |].
    apply Qle_trans with (qsum n (fun i => H_copies N (X * p i) (Y * q i))).
    + apply qsum_le. intros i inside. apply IH; [now apply rest | |];
        apply Qmult_le_0_compat; try assumption; [now apply law_p | now apply law_q].
    + now apply one_point_more.
  - (* both stories agree: the outcome is a common factor, and such factors sum to 1 *)
    destruct fits as (law_p & same & rest).
    apply Qle_trans with (qsum n (fun i => H_copies N X Y * p i)).
    + apply qsum_le. intros i inside. assert (0 <= p i) by now apply law_p.
      apply Qle_trans with (H_copies N (X * p i) (Y * q i)).
      * apply IH; [now apply rest | |]; apply Qmult_le_0_compat; try assumption. now rewrite <- same.
      * rewrite (copies_respect_equality N _ (X * p i) _ (Y * p i));
          [rewrite copies_times by assumption; lra | reflexivity | now rewrite same].
    + rewrite qsum_times, (proj2 law_p). lra.
Qed.

(** As the page says it: no set of ends is likelier in truth than c times its chance in the story, and H_c
    of N copies more. *)
Corollary every_set : forall t N, at_most N t -> forall c ends, 0 <= c ->
  chance_in Truth t ends <= c * chance_in Story t ends + H_copies N 1 c.
Proof.
  intros t N fits c ends positive. pose proof (every_set_of_ends t c ends).
  assert (H_course 1 c t <= H_copies N 1 c) by (apply theorem_2; trivial; lra). lra.
Qed.

End Dominated.
